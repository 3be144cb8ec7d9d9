// The page's only script: which hunks are ticked, and the two calls.
const boxes = [...document.querySelectorAll("input[name=hunk]")];
const apply = document.querySelector("#apply");
const undo = document.querySelector("#undo");
const count = document.querySelector("#count");
const message = document.querySelector("#message");

function ticked() {
  return boxes.filter((box) => box.checked).map((box) => box.value);
}

function show() {
  count.textContent = `${ticked().length} of ${count.dataset.total} selected`;
  apply.disabled = ticked().length === 0;
}

async function call(path, body) {
  const response = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const { ok, text } = await response.json();
  message.hidden = false;
  message.textContent = text;
  message.className = ok ? "good" : "bad";
  return ok;
}

function applied(yes) {
  apply.hidden = yes;
  undo.hidden = !yes;
  for (const box of boxes) box.disabled = yes;
}

apply.addEventListener("click", async () => {
  if (await call("/apply", { hunks: ticked() })) applied(true);
});
undo.addEventListener("click", async () => {
  if (await call("/undo", {})) applied(false);
});
for (const box of boxes) box.addEventListener("change", show);
show();
