// Shows an answer while it is made. Data from the server is inserted as text, never as markup.
// Without this script the form is posted, and the page returns with the answer.

const form = document.querySelector(".ask-form");
const turns = document.getElementById("turns");
const stop = form.querySelector("[data-stop]");
const TONES = { passed: "green", failed: "red", positive: "yellow" };
let running = null;

function make(name, className = "", text = "") {
  return Object.assign(document.createElement(name), { className, textContent: text });
}

const read = (name) => form.elements.namedItem(name).value.trim();
const followable = (address) => /^(https?:\/\/|\/(?!\/))/.test(address);

function filters() {
  const found = {};
  for (const name of ["engine", "user", "time_class", "outcome"]) if (read(name)) found[name] = read(name);
  if (read("kind")) found.kinds = [read("kind")];
  if (read("since")) found.since = `${read("since")}T00:00:00Z`;
  if (read("until")) found.until = `${read("until")}T23:59:59Z`;
  return found;
}

function marked(snippet) {
  const line = make("span", "source-text");
  for (const piece of snippet.split("\ue000")) {
    const end = piece.indexOf("\ue001");
    if (end >= 0) line.append(make("mark", "", piece.slice(0, end)));
    line.append(piece.slice(end + 1));
  }
  return line;
}

function sourceRow(one, id) {
  const row = make("li");
  row.id = id;
  const head = make(followable(one.url) ? "a" : "span", "source-head", one.title);
  if (head.tagName === "A") head.href = one.url;
  const facts = make("span", "source-facts");
  facts.append(make("span", "chip", one.kind));
  if (one.outcome) facts.append(make("span", `chip ${TONES[one.outcome] || ""}`, one.outcome));
  for (const text of [one.elo, one.tc, one.engine, one.user]) if (text) facts.append(make("span", "", text));
  if (one.commit) facts.append(make("code", "", one.commit.slice(0, 10)));
  if (one.time) facts.append(make("time", "", one.time.slice(0, 10)));
  row.append(head, facts, ...(one.snippet ? [marked(one.snippet)] : []));
  return row;
}

function linkCitations(answer, place) {
  const text = answer.textContent;
  answer.textContent = "";
  for (const piece of text.split(/(\[[0-9, ]{1,22}\])/)) {
    const numbers = /^\[[0-9, ]+\]$/.test(piece) ? piece.match(/[0-9]+/g) || [] : null;
    const links = (numbers || []).map((number) => make("a", "cite", `[${number}]`));
    links.forEach((link, at) => { link.href = `#s${place}-${numbers[at]}`; });
    answer.append(...(numbers ? links : [piece]));
  }
}

function openTurn(question) {
  const place = turns.children.length + 1;
  const [node, answer] = [make("article", "turn"), make("div", "answer writing")];
  const turn = { place, node, answer, sources: make("ol", "sources") };
  turn.node.append(make("h2", "asked", question), turn.answer);
  turns.append(turn.node);
  turn.node.scrollIntoView({ block: "nearest" });
  return turn;
}

const fail = (turn, text) => turn.node.append(make("p", "note error", text));

function take(turn, name, data) {
  if (name === "token") turn.answer.append(data.text);
  if (name === "error") fail(turn, data.error);
  if (name === "sources" && data.sources.length) {
    turn.sources.append(...data.sources.map((one, at) => sourceRow(one, `s${turn.place}-${at + 1}`)));
    turn.node.append(turn.sources);
  }
  if (name === "done" && data.session_id) {
    const begun = !read("session");
    form.elements.namedItem("session").value = data.session_id;
    history.replaceState(null, "", `/ask/${data.session_id}`);
    if (begun) listChat(data.session_id, turn.node.firstChild.textContent);
  }
}

function listChat(id, title) {
  const list = document.getElementById("chats") || make("ul");
  for (const empty of list.querySelectorAll(".soft")) empty.remove();
  const row = make("li");
  row.append(make("a", "plain", title.length > 70 ? `${title.slice(0, 69)}…` : title));
  row.firstChild.href = `/ask/${id}`;
  list.prepend(row);
}

function setBusy(busy) {
  [form.querySelector("[type=submit]").disabled, stop.hidden] = [busy, !busy];
}

async function follow(answer, turn) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let blocks = [""];
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    blocks = (blocks[0] + chunk.value).split("\n\n");
    while (blocks.length > 1) {
      const found = /^event: (\w+)\ndata: (.*)$/s.exec(blocks.shift());
      if (found) take(turn, found[1], JSON.parse(found[2]));
    }
  }
}

async function send(body, turn) {
  const headers = { "Content-Type": "application/json" };
  if (form.dataset.csrf) headers["X-CSRF-Token"] = form.dataset.csrf;
  const answer = await fetch(form.dataset.stream, { method: "POST", headers, body, signal: running.signal });
  if (answer.ok) return follow(answer, turn);
  const told = await answer.json().catch(() => ({}));
  fail(turn, (told.error || "The server did not answer.").replace(/^\/\S+: /, ""));
}

form.addEventListener("submit", async (event) => {
  const question = read("question");
  if (running || !question) return;
  event.preventDefault();
  running = new AbortController();
  const body = JSON.stringify({ query: question, session_id: read("session"), filters: filters(), temporary: false });
  const turn = openTurn(question);
  setBusy(true);
  document.querySelector(".examples")?.parentElement.remove();
  try {
    await send(body, turn);
    form.elements.namedItem("question").value = "";
  } catch (problem) {
    fail(turn, problem.name === "AbortError" ? "Stopped." : "The connection was lost.");
  }
  turn.answer.classList.remove("writing");
  linkCitations(turn.answer, turn.place);
  setBusy(false);
  running = null;
});

stop.addEventListener("click", () => running?.abort());

form.elements.namedItem("question").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  form.requestSubmit();
});
