// Puts a game on a board. Without this script the page has its moves as a list.

const board = document.getElementById("board");
const text = document.getElementById("pgn");

// The sides by their names on the page; runners write commits instead.
function named(pgn) {
  for (const colour of ["White", "Black"]) {
    const name = board.dataset[colour.toLowerCase()].replace(/["\\]/g, "");
    pgn = pgn.replace(new RegExp(`^\\[${colour} "[^"]*"\\]`, "m"), () => `[${colour} "${name}"]`);
  }
  return pgn;
}

async function show() {
  const { default: makeViewer } = await import(board.dataset.viewer);
  makeViewer(board, {
    pgn: named(text.textContent.replace(/\{[^}]*\}/g, "")), // scores are in a separate list
    orientation: board.dataset.orientation,
    scrollToMove: false,
    keyboardToMove: true,
    showClocks: false,
    lichess: false,
    menu: { getPgn: { enabled: false }, practiceWithComputer: { enabled: false }, analysisBoard: { enabled: false } },
  });
  document.getElementById("scores").open = false;
}

if (board?.dataset.viewer && text) show();
