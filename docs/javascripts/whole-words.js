// Browsers break a line after every hyphen of `--out`, and inside names in narrow cells of a table.
// Here, a word of code stays whole. A long word may be broken after the signs between its parts.
const LONGEST_WHOLE_WORD = 28;
const keepWhole = text => {
  const span = document.createElement("span");
  span.className = "whole";
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
