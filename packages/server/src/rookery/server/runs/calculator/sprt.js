// The SPRT calculator: calculates during typing, and keeps the input in the address.

const form = document.querySelector("form[data-sprt]");
const part = document.getElementById("sprt-part");
const PAUSE = 250;
let timer = 0;
let asked = 0;

async function calculate() {
  const mine = ++asked;
  const query = new URLSearchParams(new FormData(form));
  try {
    const answer = await fetch(`${form.action}?${query}&part=1`);
    if (!answer.ok || mine !== asked) return;
    part.innerHTML = await answer.text();
    history.replaceState(null, "", `${form.getAttribute("action")}?${query}`);
  } catch {
    // The server can't be reached at the moment; the present result stays.
  }
}

document.documentElement.classList.add("scripted");
form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(calculate, PAUSE);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  calculate();
});
