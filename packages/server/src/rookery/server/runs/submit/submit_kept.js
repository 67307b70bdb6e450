// Keeps the content of the form of a new test in this tab when it is sent. If the session has expired,
// it is restored once the same person has logged in again.

const KEY = "rookery.new-test";
const form = document.querySelector("form[data-submit]");
const refused = document.querySelector("[data-kept]");

function read() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY));
  } catch {
    return null; // not allowed in this browser
  }
}

function write(kept) {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(kept));
    return true;
  } catch {
    return false; // not allowed, or too much
  }
}

// Restored by the server, which knows the presets and files of the chosen engine.
function putBack(fields) {
  const sent = document.createElement("form");
  sent.method = "post";
  sent.action = form.action;
  const token = form.elements.namedItem("csrf_token").value;
  for (const [name, value] of [["csrf_token", token], ...fields, ["do", "again"]]) {
    const field = document.createElement("textarea");
    field.name = name;
    field.value = value;
    sent.append(field);
  }
  sent.hidden = true;
  document.body.append(sent);
  sent.submit();
}

const kept = read();
if (refused) {
  // Only content that this tab has sent itself can be restored.
  if (kept && write({ ...kept, lost: true })) refused.querySelector("[data-back]").hidden = false;
} else if (form) {
  const wanted = "fresh" in form.dataset && !location.search && kept?.lost;
  if (kept && !(kept.lost && location.search)) sessionStorage.removeItem(KEY);
  if (wanted && kept.user === form.dataset.user) putBack(kept.fields);
  form.addEventListener("submit", () => {
    const fields = [...new FormData(form)].filter(([name]) => name !== "csrf_token");
    write({ user: form.dataset.user, fields });
  });
}
