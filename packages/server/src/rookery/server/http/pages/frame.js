// Scripts of every page: changing the theme without a reload, closing menus, the search key.

const root = document.documentElement;
const YEAR = 31536000;

function choose(theme) {
  if (theme) root.dataset.theme = theme;
  else delete root.dataset.theme;
  document.cookie = `rookery_theme=${theme}; path=/; max-age=${theme ? YEAR : 0}; samesite=lax`;
  for (const button of document.querySelectorAll(".theme button")) {
    button.setAttribute("aria-pressed", String(button.value === theme));
  }
  document.dispatchEvent(new Event("themechange"));
}

document.querySelector(".theme")?.addEventListener("submit", (event) => {
  event.preventDefault();
  choose(event.submitter?.value ?? "");
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  document.dispatchEvent(new Event("themechange"));
});

function closeMenus(except) {
  for (const menu of document.querySelectorAll("details.menu[open], details.action[open]")) {
    if (menu !== except && !menu.contains(except)) menu.open = false;
  }
}

document.addEventListener("click", (event) => closeMenus(event.target));
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    const inside = document.activeElement?.closest("details.menu[open], details.action[open]");
    closeMenus(null);
    inside?.querySelector("summary").focus();
  }
  const typing = event.target.closest?.("input, select, textarea, [contenteditable]");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    document.querySelector(".search-text")?.focus();
  }
});

// On a phone the tabs of a run are wider than the window: scroll to the current one.
const tabs = document.querySelector(".tabs");
const chosen = tabs?.querySelector("[aria-current]");
if (chosen) tabs.scrollLeft = chosen.offsetLeft + chosen.offsetWidth / 2 - tabs.clientWidth / 2;
