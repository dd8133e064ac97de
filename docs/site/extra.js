// What scrolls sideways can be reached with the keyboard.
document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset pre > code, .md-typeset .output").forEach((part) => {
  part.tabIndex = 0;
});
