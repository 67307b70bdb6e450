// The form of a new test: applies presets without a round trip, updates the preview during typing and
// shows errors beside their fields. Without this script its buttons do the same.

const form = document.querySelector("form[data-submit]");
const panel = document.getElementById("preview");
const PAUSE = 600;
const BRANCHES = ["new_tag", "base_tag", "tests_repo", "base_repo", "resolved_new", "resolved_base"];
const touched = new Set();
const lookedUp = new Map(); // by field of a branch: its error, and the text that it is about
let timer = 0;
let asked = 0;

function input(name) {
  return form.elements.namedItem(name);
}

function put(name, text) {
  const found = input(name);
  if (!found) return;
  if (found instanceof RadioNodeList || found.type === "radio") {
    for (const each of form.querySelectorAll(`[name="${name}"]`)) each.checked = each.value === text;
  } else if (found.type === "checkbox") {
    found.checked = text === "1";
  } else {
    found.value = text;
  }
}

function usePreset(button) {
  for (const [name, text] of Object.entries(JSON.parse(button.dataset.texts))) put(name, text);
  put("preset", button.value);
  for (const each of form.querySelectorAll(".preset")) {
    each.setAttribute("aria-pressed", String(each === button));
  }
  schedule("");
}

function schedule(look) {
  clearTimeout(timer);
  timer = setTimeout(() => preview(look), look ? 0 : PAUSE);
}

async function preview(look) {
  const mine = ++asked;
  panel.parentElement.setAttribute("aria-busy", "true");
  try {
    let answer = await askPreview(look);
    if (isRefused(answer) && (await renewToken())) answer = await askPreview(look);
    if (mine !== asked) return;
    if (isRefused(answer)) return tellLoggedOut();
    if (!answer.ok) return;
    panel.innerHTML = await answer.text();
    showErrors(look);
  } catch {
    // The server can't be reached at the moment; the form works without a preview.
  } finally {
    if (mine === asked) panel.parentElement.removeAttribute("aria-busy");
  }
}

function askPreview(look) {
  const body = new URLSearchParams(new FormData(form));
  if (look) body.set("look", look);
  return fetch(form.dataset.submit, { method: "POST", body });
}

// The session has ended, or is another one by now.
function isRefused(answer) {
  return answer.redirected || [401, 403].includes(answer.status);
}

// After a login in another tab, this tab continues with the new session.
async function renewToken() {
  const answer = await fetch(form.action);
  if (!answer.ok || answer.redirected) return false;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  input("csrf_token").value = page.querySelector("meta[name=csrf-token]").content;
  return true;
}

function tellLoggedOut() {
  const link = Object.assign(document.createElement("a"), { href: "/login", target: "_blank", textContent: "log in" });
  const told = document.createElement("p");
  told.className = "note error";
  told.append("You are logged out: ", link, " in another tab; your input stays here.");
  panel.replaceChildren(told);
}

// Errors of branches are found only when branches are looked up. They are kept until the next lookup,
// or until the field is changed.
function holdBranchErrors(found, look) {
  const wrong = look ? BRANCHES.filter((name) => found.has(name)) : [];
  if (wrong.length || (look && !found.size)) lookedUp.clear();
  for (const name of wrong) lookedUp.set(name, { text: found.get(name), value: input(name)?.value });
  for (const [name, { text, value }] of lookedUp) {
    if (!found.has(name) && input(name)?.value === value) found.set(name, text);
  }
}

function showErrors(look) {
  const found = new Map();
  for (const each of panel.querySelectorAll("[data-for]")) {
    found.set(each.dataset.for, each.textContent);
    // Errors beside their fields, and those of fields not reached yet, are not repeated here.
    if (input(each.dataset.for)) each.remove();
  }
  holdBranchErrors(found, look);
  for (const place of form.querySelectorAll("[data-error]")) {
    const name = place.dataset.error;
    const text = touched.has(name) ? found.get(name) || "" : "";
    place.textContent = text;
    const field = document.getElementById(name);
    if (field && text) field.setAttribute("aria-invalid", "true");
    else if (field) field.removeAttribute("aria-invalid");
  }
}

// An error found by the server stays beside its field until the field is right.
function keepErrors() {
  for (const { dataset, textContent } of form.querySelectorAll("[data-error]")) {
    const name = dataset.error, text = textContent.trim();
    if (!text) continue;
    touched.add(name);
    if (BRANCHES.includes(name)) lookedUp.set(name, { text, value: input(name)?.value });
  }
}

if (form) {
  document.documentElement.classList.add("scripted");
  form.addEventListener("click", (event) => {
    const preset = event.target.closest(".preset");
    if (!preset && !event.target.closest("[data-look]")) return;
    event.preventDefault();
    if (preset) return usePreset(preset);
    for (const place of form.querySelectorAll("[data-error]")) touched.add(place.dataset.error);
    schedule("branches");
  });
  form.addEventListener("input", (event) => {
    if (!event.target.dataset.upload) schedule("");
  });
  form.addEventListener("change", (event) => {
    const { name, dataset } = event.target;
    if ("switch" in dataset) return form.querySelector("[value=switch]").click();
    if (dataset.upload) return;
    touched.add(name);
    schedule(BRANCHES.includes(name) && input("new_tag").value ? "branches" : "");
  });
  keepErrors();
  if (input("new_tag").value && !form.querySelector(".lengths")) schedule("");
}
