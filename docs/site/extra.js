// What scrolls sideways can be reached with the keyboard. The theme wraps wide tables only after the page has loaded.
const wide = ".md-typeset__scrollwrap, .md-typeset pre > code, .md-typeset .output, .md-typeset p:has(> img[src$='.svg'])";
const reachable = () => {
  document.querySelectorAll(wide).forEach((part) => {
    part.tabIndex = 0;
  });
};
new MutationObserver(reachable).observe(document.querySelector("article"), { childList: true, subtree: true });
reachable();
