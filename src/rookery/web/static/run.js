// Small helps of a run's page: buttons that copy a text, sheets that close, parts that come later.

for (const button of document.querySelectorAll("[data-copies]")) {
  if (!navigator.clipboard) break;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copies).textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}

// A sheet below a button closes by Escape and by a click beside it.
function closeSheets(except) {
  for (const sheet of document.querySelectorAll(".moves details[open]")) {
    if (!except || !sheet.contains(except)) sheet.open = false;
  }
}
document.addEventListener("keydown", (event) => { if (event.key === "Escape") closeSheets(null); });
document.addEventListener("click", (event) => closeSheets(event.target));

// What takes the server a while is fetched once it is wanted.
for (const part of document.querySelectorAll("details[data-part]")) {
  part.addEventListener("toggle", async () => {
    const place = part.querySelector(".part");
    if (!part.open || place.dataset.begun) return;
    place.dataset.begun = "1";
    try {
      const answer = await fetch(part.dataset.part, { headers: { accept: "text/html" } });
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").body;
      place.replaceChildren(...(answer.ok ? fresh.childNodes : ["It can't be had now."]));
    } catch {
      place.textContent = "It can't be had now.";
      delete place.dataset.begun;
    }
  });
}
