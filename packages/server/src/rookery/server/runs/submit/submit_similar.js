// Beside the form of a new test: earlier tests and patches that are similar to the typed text.

const typed = document.querySelector("form[data-submit]");

async function findSimilar() {
  const list = typed.querySelector("[data-similar-list]");
  const { new_tag: branch, info, new_engine: engine } = typed.elements;
  const title = [branch.value, info.value].join(" ").trim();
  if (title.length < 4) return;
  const query = new URLSearchParams({ title, engine: engine.value });
  const answer = await fetch(`${typed.dataset.similar}?${query}`);
  if (!answer.ok) return;
  const { sources } = await answer.json();
  list.hidden = !sources.length;
  list.querySelector("ul").replaceChildren(...sources.slice(0, 5).map(similarItem));
}

function similarItem(source) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = source.url;
  link.target = "_blank";
  link.textContent = source.title;
  // Matched words are enclosed in two marks (ask/words.py), which are not letters.
  item.append(link, ` ${(source.snippet ?? "").replace(/[\ue000\ue001]/g, "")}`);
  return item;
}

typed?.addEventListener("change", ({ target }) => {
  if (["new_tag", "info"].includes(target.name)) findSimilar();
});
