// Keeps one part of a page up to date. The server says that something changed, the page fetches
// that part again as HTML, and only what differs is replaced: nothing jumps, nothing loses focus.

const place = document.getElementById("live");
const PAUSE = Number(place?.dataset.pause ?? 1000); // between two fetches, however much happens
const SLOWLY = 30000; // also without news: times grow old
const WITHOUT_NEWS = 4000; // where the server can't tell news
const AGAIN = 30000; // after a stream that was refused

let stream = null;
let wanted = false;
let busy = false;
let timer = 0;
let refused = false;
let last = -PAUSE;
let lost = 0; // since when nothing is heard of the server

// Quiet at first: most connections are back before anybody would notice.
function hear(well) {
  const told = document.getElementById("connection");
  lost = well ? 0 : lost || Date.now();
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

// Spaces between elements come and go with the parser.
function parts(node) {
  return [...node.childNodes].filter((one) => one.nodeType !== Node.TEXT_NODE || one.nodeValue.trim());
}

// Makes `present` like `fresh`, keeping every element that is still there.
function become(present, fresh) {
  // What another script draws is its own to keep up to date.
  if (present.isEqualNode(fresh) || present.dataset?.keep !== undefined) return;
  if (present.nodeType !== Node.ELEMENT_NODE) {
    present.nodeValue = fresh.nodeValue;
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

async function fetchPart() {
  wanted = false;
  busy = true;
  last = performance.now();
  try {
    const answer = await fetch(place.dataset.fragment, { headers: { accept: "text/html" } });
    if (answer.ok && !answer.redirected) {
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").body;
      const part = place.cloneNode(false);
      part.append(...fresh.childNodes);
      // The rest of the page tells of the end too.
      if (part.querySelector("[data-over]") && !place.querySelector("[data-over]")) location.reload();
      become(place, part);
    }
    hear(true);
  } catch {
    hear(false);
    // The server is away; the stream or the next turn tells when it is back.
  }
  busy = false;
  plan(wanted ? PAUSE : refused ? WITHOUT_NEWS : SLOWLY);
}

function plan(delay) {
  clearTimeout(timer);
  timer = document.hidden ? 0 : setTimeout(fetchPart, delay);
}

function news() {
  if (busy) wanted = true;
  else if (!wanted) {
    wanted = true;
    plan(last + PAUSE - performance.now()); // at once after a quiet time
  }
}

function listen() {
  stream = new EventSource(place.dataset.events);
  stream.addEventListener("open", () => {
    refused = false;
    hear(true);
    news(); // what happened while nobody listened
  });
  stream.addEventListener("run", news);
  stream.addEventListener("error", () => {
    hear(false);
    if (stream.readyState !== EventSource.CLOSED) return; // it tries again by itself
    refused = true;
    plan(WITHOUT_NEWS);
    setTimeout(() => document.hidden || (hush(), listen()), AGAIN);
  });
}

function hush() {
  clearTimeout(timer);
  if (stream) stream.close();
  stream = null;
}

if (place) {
  document.addEventListener("visibilitychange", () => {
    hush();
    if (!document.hidden) {
      wanted = false;
      listen();
      plan(0);
    }
  });
  addEventListener("pagehide", hush);
  setInterval(() => lost && hear(false), 1000);
  if (!document.hidden) listen();
}
