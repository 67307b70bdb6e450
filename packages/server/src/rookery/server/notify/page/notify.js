// Browser notifications: for tests that the user follows or chose here and, for approvers, for new
// runs and accounts to approve. Only one of all open tabs has a stream for this, chosen by a lock. There
// is no notification while the page that it is about has the focus.
//
//   <button hidden data-notify="run id" data-name="its name">   this run, in this browser
//   <button hidden data-news>                                    all that the account follows

const RUNS = "rookery.server.notify"; // names by run
const ALL = "rookery.news"; // "on" or nothing
const PLACE = "rookery.news.place"; // the position up to which this browser was told, and when
const FRESH = 600000; // older notifications are not shown
const AGAIN = 30000; // the wait after a refused stream
const ANSWER = 200; // the time for tabs to answer that they have the focus

const able = "Notification" in window && window.isSecureContext && "locks" in navigator;
const tabs = able ? new BroadcastChannel("rookery.news") : null;
let leads = false;
let stream = null;
let timer = 0;
let seen = 0; // when another tab last answered that it shows that page

function read(key) {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "{}");
  } catch {
    return {};
  }
}

function choose(run, name) {
  const runs = read(RUNS);
  if (name) runs[run] = name;
  else delete runs[run];
  localStorage.setItem(RUNS, JSON.stringify(runs));
}

function wantsAll() {
  return localStorage.getItem(ALL) === "on";
}

function listen() {
  clearTimeout(timer);
  stream?.close();
  stream = null;
  const runs = Object.keys(read(RUNS));
  if (!leads || Notification.permission !== "granted" || !(wantsAll() || runs.length)) return;
  const { at = 0, ...place } = read(PLACE);
  const query = new URLSearchParams(Date.now() - at < FRESH ? place : {});
  if (wantsAll()) query.set("all", "true");
  for (const run of runs.slice(-30)) query.append("run", run);
  stream = new EventSource(`/live/news?${query}`);
  stream.addEventListener("place", (event) => {
    localStorage.setItem(PLACE, JSON.stringify({ ...JSON.parse(event.data), at: Date.now() }));
  });
  stream.addEventListener("told", (event) => tell(JSON.parse(event.data)));
  stream.addEventListener("error", () => {
    if (stream?.readyState === EventSource.CLOSED) timer = setTimeout(listen, AGAIN);
  });
}

async function tell(news) {
  if (news.run in read(RUNS) && news.kind !== "approval_needed") choose(news.run, "");
  if (await isShown(news.url)) return;
  const shown = new Notification(news.title || "Rookery", { body: news.text, tag: news.url });
  shown.addEventListener("click", () => {
    window.focus();
    location.assign(news.url);
  });
}

function shows(url) {
  return document.hasFocus() && location.pathname === url.split("?")[0];
}

async function isShown(url) {
  if (shows(url)) return true;
  const asked = Date.now();
  tabs.postMessage({ url });
  await new Promise((done) => setTimeout(done, ANSWER));
  return seen >= asked;
}

// The buttons, on pages that have them.

const one = document.querySelector("[data-notify]");
const all = document.querySelector("[data-news]");

function paint(button, on) {
  if (!button) return;
  const told = on && Notification.permission === "granted";
  button.textContent = told ? "Notifications on" : "Notify me in this browser";
  button.setAttribute("aria-pressed", String(told));
}

function show() {
  paint(one, one?.dataset.notify in read(RUNS));
  paint(all, wantsAll());
}

async function toggle(button, on, set) {
  if (on) set(false);
  else if ((await Notification.requestPermission()) === "granted") set(true);
  else button.title = "This browser blocks notifications from this site.";
  show();
  listen();
}

if (able) {
  const { notify, name } = one?.dataset ?? {};
  if (one) one.hidden = Boolean(document.querySelector("[data-over]"));
  if (one?.hidden) choose(notify, ""); // it was seen here
  if (all) all.hidden = false;
  one?.addEventListener("click", () => {
    toggle(one, notify in read(RUNS), (on) => choose(notify, on ? name : ""));
  });
  all?.addEventListener("click", () => {
    toggle(all, wantsAll(), (on) => localStorage.setItem(ALL, on ? "on" : ""));
  });
  tabs.addEventListener("message", ({ data }) => {
    if (data.seen) seen = Date.now();
    else if (shows(data.url)) tabs.postMessage({ seen: true });
  });
  addEventListener("storage", ({ key }) => {
    if (key === RUNS || key === ALL) listen();
    show();
  });
  show();
  navigator.locks.request("rookery.news", () => {
    leads = true;
    listen();
    return new Promise(() => {}); // holds the lock until this page is left
  });
}
