// The reference of the API: filters endpoints during typing, and opens the type that a link names.

const search = document.getElementById("api-search");

function filter() {
  const words = search.querySelector("input").value.toLowerCase().split(/\s+/);
  for (const one of document.querySelectorAll("[data-words]")) {
    const text = one.dataset.words.toLowerCase();
    one.hidden = !words.every((word) => text.includes(word));
  }
  for (const group of document.querySelectorAll(".contents details, .api section")) {
    const inside = [...group.querySelectorAll("[data-words]")];
    group.hidden = inside.length > 0 && inside.every((one) => one.hidden);
  }
}

function openNamed() {
  const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (place?.tagName === "DETAILS") place.open = true;
}

if (search) {
  search.addEventListener("input", filter);
  search.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", openNamed);
  openNamed();
}
