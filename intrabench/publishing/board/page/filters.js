"use strict";
// The start page: rows of tables by data set, modality and protocol; the choice is part of the address.

(() => {
  const form = document.querySelector("#tables .controls");
  const rows = [...document.querySelectorAll("#tables tbody tr")];

  function show() {
    let shown = 0;
    for (const row of rows) {
      row.hidden = ![...form.elements].every((control) => !control.value || row.dataset[control.name] === control.value);
      shown += !row.hidden;
    }
    document.getElementById("shown").textContent = `${shown} of ${rows.length} tables`;
  }

  const parameters = new URLSearchParams(location.hash.slice(1));
  for (const control of form.elements) {
    if ([...control.options].some((option) => option.value === parameters.get(control.name))) control.value = parameters.get(control.name);
    control.addEventListener("change", () => {
      const chosen = [...form.elements].filter((one) => one.value).map((one) => [one.name, one.value]);
      history.replaceState(null, "", `#${new URLSearchParams(chosen)}`);
      show();
    });
  }
  show();
})();
