// The page of a run: buttons that copy a text, and parts that are loaded later or again.

// Buttons may be replaced with the live part. They are hidden if copying is not possible.
document.documentElement.classList.toggle("copies", Boolean(navigator.clipboard));
document.addEventListener("click", async ({ target }) => {
  const button = target.closest("[data-copies]");
  if (!button) return;
  await navigator.clipboard.writeText(document.getElementById(button.dataset.copies).textContent);
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 2000);
});

// Parts that take the server a while are fetched when they are opened.
for (const part of document.querySelectorAll("details[data-part]")) {
  part.addEventListener("toggle", async () => {
    const place = part.querySelector(".part");
    if (!part.open || place.dataset.begun) return;
    place.dataset.begun = "1";
    try {
      const answer = await fetch(part.dataset.part, { headers: { accept: "text/html" } });
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").body;
      place.replaceChildren(...(answer.ok ? fresh.childNodes : ["It could not be loaded."]));
    } catch {
      place.textContent = "It could not be loaded.";
      delete place.dataset.begun;
    }
  });
}

// Contributions, tasks and events are fetched after changes of the live part, at most twice a minute.
const recent = document.getElementById("recent");
const BETWEEN_RECENT = 30000;
let recentDue = 0;
let recentOwed = false;

async function fetchRecent() {
  recentDue = 0;
  recentOwed = document.hidden;
  if (document.hidden) return;
  const answer = await fetch(recent.dataset.again, { headers: { accept: "text/html" } }).catch(() => null);
  if (!answer?.ok || answer.redirected) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const id of ["contributed", "recent"]) become(document.getElementById(id), fresh.getElementById(id)); // of live.js
}

document.addEventListener("visibilitychange", () => { if (recentOwed && !document.hidden) fetchRecent(); });
new MutationObserver(() => { recentDue ||= setTimeout(fetchRecent, BETWEEN_RECENT); })
  .observe(document.getElementById("games"), { childList: true, characterData: true, subtree: true });
