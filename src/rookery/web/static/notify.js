// Tells of the end of a run by a notification of the browser, while its page is open in some tab.
// A button says which run: <button hidden data-notify="run id" data-name="its name">. The list is
// kept in this browser alone; nothing is sent to anybody.

const KEY = "rookery.notify";
const OVER = ["finished", "failed"];
const button = document.querySelector("[data-notify]");

function watched() {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}");
  } catch {
    return {};
  }
}

function watch(run, name) {
  const runs = watched();
  if (name) runs[run] = name;
  else delete runs[run];
  localStorage.setItem(KEY, JSON.stringify(runs));
}

function show() {
  const on = button.dataset.notify in watched() && Notification.permission === "granted";
  button.textContent = on ? "Told in this browser" : "Tell me in this browser";
  button.setAttribute("aria-pressed", on);
}

async function toggle() {
  const { notify, name } = button.dataset;
  if (notify in watched()) watch(notify, "");
  else if ((await Notification.requestPermission()) === "granted") watch(notify, name);
  else button.title = "This browser does not let this site show notifications.";
  show();
  listen();
}

function tell(run, state) {
  const name = watched()[run];
  if (!name || !OVER.includes(state)) return;
  watch(run, "");
  const text = state === "failed" ? "was stopped by an error" : "has ended";
  const shown = new Notification(name, { body: `The test ${text}.`, tag: run });
  shown.addEventListener("click", () => {
    window.focus();
    location.assign(`/runs/${run}`);
  });
  show();
  listen();
}

// The page itself listens while it is seen (live.js); this one listens while it is not.
let stream = null;

function listen() {
  stream?.close();
  stream = null;
  const run = button.dataset.notify;
  if (!document.hidden || !(run in watched())) return;
  stream = new EventSource(`/api/v1/events?run=${run}&brief=true`);
  stream.addEventListener("run", (event) => {
    const { id, state } = JSON.parse(event.data);
    tell(id, state);
  });
}

if (button && "Notification" in window && window.isSecureContext) {
  button.hidden = Boolean(document.querySelector("[data-over]"));
  if (button.hidden) watch(button.dataset.notify, ""); // it was seen here
  button.addEventListener("click", toggle);
  document.addEventListener("visibilitychange", listen);
  show();
  listen();
}
