// Browsers break a line after every hyphen of `--out`, and inside names in narrow cells of a table.
// Here, a word of code stays whole. A long word may be broken after the signs between its parts.
const LONGEST_WHOLE_WORD = 28;
// On paper, which cannot be scrolled, only short words stay whole.
const LONGEST_WHOLE_ON_PAPER = 12;
const keepWhole = text => {
  const span = document.createElement("span");
  span.className = text.length <= LONGEST_WHOLE_ON_PAPER ? "whole short" : "whole";
  span.textContent = text;
  return span;
};
const breakWord = word => {
  if (!word.trim()) return [word];
  if (word.length <= LONGEST_WHOLE_WORD) return [keepWhole(word)];
  return word.split(/(?<=[/=,+.:_])/).flatMap(part =>
    [part.length <= LONGEST_WHOLE_WORD ? keepWhole(part) : part, document.createElement("wbr")]);
};
document.querySelectorAll(".md-content :not(pre) > code").forEach(code => {
  if (code.childElementCount) return;
  const words = code.textContent.split(/(\s+)/).flatMap(breakWord);
  // without a part that has to be broken anywhere, a sign behind the code stays on its line
  code.classList.toggle("unbroken", words.every(word => word instanceof Node || !word.trim()));
  code.replaceChildren(...words);
});

// A number stays on the line of its unit, and of the sign before it: < 0.001.
const NUMBER_AND_UNIT = /(\d) (?=(?:%|°|[kM]?B|GiB|MiB|k?m|cm|mm|m\/s²?|km\/h|m?s|min|h|Hz|dBm?|points?)(?![\w/]))/g;
document.querySelectorAll(".md-content :is(p, li, td)").forEach(part => {
  const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (!node.parentElement.closest("code, pre"))
      node.data = node.data.replace(NUMBER_AND_UNIT, "$1\u00a0").replace(/([<>]) (?=\d)/g, "$1\u00a0");
  }
});
