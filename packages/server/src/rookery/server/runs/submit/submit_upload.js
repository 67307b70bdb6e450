// Uploads programs as soon as they are chosen in the form of a new test (after submit.js).

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

for (const chooser of form?.querySelectorAll("[data-upload]") ?? []) {
  chooser.hidden = false;
  chooser.addEventListener("change", () => upload(chooser));
}
