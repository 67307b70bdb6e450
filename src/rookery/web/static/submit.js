// The form of a new test: presets without a round trip, a preview while one types, errors beside
// their fields, programs that are uploaded at once. Without this script its buttons do the same.

const form = document.querySelector("form[data-submit]");
const panel = document.getElementById("preview");
const PAUSE = 600;
const BRANCHES = ["new_tag", "base_tag", "tests_repo", "base_repo", "resolved_new", "resolved_base"];
const touched = new Set();
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
  const body = new URLSearchParams(new FormData(form));
  if (look) body.set("look", look);
  panel.parentElement.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(form.dataset.submit, { method: "POST", body });
    if (!answer.ok || mine !== asked) return;
    panel.innerHTML = await answer.text();
    showErrors();
  } catch {
    // The server is away for a moment: the form works without a preview.
  } finally {
    if (mine === asked) panel.parentElement.removeAttribute("aria-busy");
  }
}

function showErrors() {
  const found = new Map();
  for (const each of panel.querySelectorAll("[data-for]")) {
    found.set(each.dataset.for, each.textContent);
    // What stands beside its field, or was not come to yet, need not be told twice.
    if (input(each.dataset.for)) each.remove();
  }
  for (const place of form.querySelectorAll("[data-error]")) {
    const name = place.dataset.error;
    const text = touched.has(name) ? found.get(name) || "" : "";
    place.textContent = text;
    const field = document.getElementById(name);
    if (field && text) field.setAttribute("aria-invalid", "true");
    else if (field) field.removeAttribute("aria-invalid");
  }
}

async function upload(chooser) {
  const file = chooser.files[0];
  const choice = input(chooser.dataset.upload);
  const place = form.querySelector(`[data-error="${chooser.dataset.upload}"]`);
  if (!file) return;
  place.textContent = "";
  chooser.disabled = true;
  const engine = input("new_engine").value;
  const address = `/api/v1/binaries?name=${encodeURIComponent(file.name)}&engine=${encodeURIComponent(engine)}`;
  try {
    const answer = await fetch(address, {
      method: "POST",
      body: file,
      headers: { "x-csrf-token": input("csrf_token").value },
    });
    const told = await answer.json();
    if (!answer.ok) throw new Error(told.error);
    choice.add(new Option(`${file.name} (${told.sha256.slice(0, 8)})`, told.sha256, true, true));
    const tag = input(chooser.dataset.upload.replace("binary", "tag"));
    if (!tag.value) tag.value = file.name;
    schedule("");
  } catch (trouble) {
    place.textContent = trouble.message;
  } finally {
    chooser.disabled = false;
  }
}

async function findSimilar() {
  const list = form.querySelector("[data-similar-list]");
  const title = [input("new_tag").value, input("info").value].join(" ").trim();
  if (title.length < 4) return;
  const query = new URLSearchParams({ title, engine: input("new_engine").value });
  const answer = await fetch(`${form.dataset.similar}?${query}`);
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
  // Matched words stand between two marks (ask/words.py), which are no letters.
  item.append(link, ` ${(source.snippet ?? "").replace(/[\ue000\ue001]/g, "")}`);
  return item;
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
    if (dataset.upload) return upload(event.target);
    touched.add(name);
    schedule(BRANCHES.includes(name) && input("new_tag").value ? "branches" : "");
    if (form.dataset.similar && ["new_tag", "info"].includes(name)) findSimilar();
  });
  for (const chooser of form.querySelectorAll("[data-upload]")) chooser.hidden = false;
  if (input("new_tag").value && !form.querySelector(".lengths")) schedule("");
}
