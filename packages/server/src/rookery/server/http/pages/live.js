// Keeps one part of a page up to date. The server sends that part as HTML whenever it has changed,
// and only what differs is replaced: nothing jumps, nothing loses focus.

const place = document.getElementById("live");
const WITHOUT_STREAM = 4000; // between two fetches if the server has no stream to offer
const AGAIN = 30000; // the wait after a refused stream
const SILENCE = 40000; // the server sends something every 15 s; after this the connection counts as dead

let stream = null;
let timer = 0;
let heard = Date.now(); // when the server last sent something
let latest = ""; // the part as it was last received
let owed = false; // whether some changes are not shown yet
let lost = 0; // since when the server is known to be unreachable

// Not shown at first: most connections are restored before anybody would notice.
function hear(well) {
  const told = document.getElementById("connection");
  if (well) heard = Date.now();
  lost = well ? 0 : lost || heard;
  const seconds = Math.round((Date.now() - lost) / 1000);
  told.hidden = !lost || seconds < 3;
  told.lastElementChild.textContent = seconds < 120 ? `${seconds} s ago` : `${Math.round(seconds / 60)} min ago`;
}

function alike(one, other) {
  return one.nodeType === other.nodeType && one.nodeName === other.nodeName && one.id === other.id;
}

function sameAttributes(from, to) {
  for (const { name } of [...to.attributes]) {
    if (!from.hasAttribute(name) && name !== "open") to.removeAttribute(name);
  }
  for (const { name, value } of from.attributes) {
    if (to.getAttribute(name) !== value) to.setAttribute(name, value);
  }
}

// The parser adds and removes white space between elements.
function parts(node) {
  return [...node.childNodes].filter((one) => one.nodeType !== Node.TEXT_NODE || one.nodeValue.trim());
}

// Selected text is kept until the selection is cleared, so that it can be copied.
function isSelected(node) {
  const selection = getSelection();
  return !selection.isCollapsed && selection.containsNode(node, true);
}

// Makes `present` like `fresh`, keeping every element that is still there.
function become(present, fresh) {
  // Elements drawn by another script are updated by that script.
  if (present.isEqualNode(fresh) || present.dataset?.keep !== undefined) return;
  if (present.nodeType !== Node.ELEMENT_NODE) {
    if (isSelected(present)) owed = true;
    else present.nodeValue = fresh.nodeValue;
    return;
  }
  sameAttributes(fresh, present);
  const left = parts(present);
  for (const child of parts(fresh)) {
    const known = child.id ? left.find((one) => one.id === child.id) : left[0];
    if (known && alike(known, child)) {
      if (known !== left[0]) present.insertBefore(known, left[0]);
      left.splice(left.indexOf(known), 1);
      become(known, child);
    } else {
      present.insertBefore(child, left[0] ?? null);
    }
  }
  for (const gone of left) gone.remove();
}

// The phase of a run: it waits for approval, is played or has ended.
function lifeOf(node) {
  return node.querySelector("[data-life]")?.dataset.life;
}

// The rest of the page depends on it too: buttons, hints, the end. If a sheet with a form is open, a
// new page would discard it: show a message instead, and let people reload the page themselves.
function follow() {
  const note = document.getElementById("moved-on");
  if (note && document.querySelector("main details[open] form")) note.hidden = false;
  else if (place.dataset.home) location.replace(place.dataset.home); // posted data is not sent again
  else location.reload();
}

function show(html) {
  latest = html;
  owed = false;
  const part = place.cloneNode(false);
  part.append(...new DOMParser().parseFromString(html, "text/html").body.childNodes);
  const moved = lifeOf(part) !== lifeOf(place);
  become(place, part);
  if (moved) follow();
}

// Fetch without a stream for a while: too many are open, or a proxy does not pass them on.
async function fetchPart(until) {
  try {
    const answer = await fetch(place.dataset.fragment, { headers: { accept: "text/html" } });
    if (answer.ok && !answer.redirected) show(await answer.text());
    hear(answer.status < 500); // a 5xx may come from a proxy whose server is down
  } catch {
    hear(false);
  }
  if (document.hidden) return;
  if (Date.now() < until) timer = setTimeout(fetchPart, WITHOUT_STREAM, until);
  else listen();
}

function listen() {
  hush();
  stream = new EventSource(place.dataset.fragment);
  stream.addEventListener("open", () => hear(true));
  stream.addEventListener("alive", () => hear(true));
  stream.addEventListener("part", (event) => {
    hear(true);
    show(event.data);
  });
  stream.addEventListener("error", () => {
    hear(false);
    if (stream.readyState !== EventSource.CLOSED) return; // the browser reconnects by itself
    // Before the message is shown: a refused stream is not a lost connection.
    timer = setTimeout(fetchPart, WITHOUT_STREAM / 2, Date.now() + AGAIN);
  });
}

function hush() {
  clearTimeout(timer);
  if (stream) stream.close();
  stream = null;
}

if (place) {
  document.addEventListener("visibilitychange", () => {
    heard = Date.now();
    if (document.hidden) hush();
    else listen();
  });
  addEventListener("pagehide", hush);
  document.addEventListener("selectionchange", () => { if (owed && getSelection().isCollapsed) show(latest); });
  setInterval(() => {
    const dead = stream && !lost && Date.now() - heard > SILENCE;
    if (lost || dead) hear(false);
    if (dead) listen();
  }, 1000);
  if (!document.hidden) listen();
}
