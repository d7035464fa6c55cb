/**
 * Text from elsewhere as a terminal can show it: control characters but line feeds and tabs, and
 * marks that change the direction of writing, are written as in JSON (`\u001b`), so that they do
 * nothing there. JSON still means the same.
 */
export function safeText(text: string): string {
  return text.replace(/\r\n/g, '\n').replace(active, (control) => {
    return `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** As `safeText`, but for the colours of a plan, which can hide nothing. */
export function safePaintedText(text: string): string {
  return text
    .split(paint)
    .map((part, at) => (at % 2 === 0 ? safeText(part) : part))
    .join('');
}

/** The codes that plans have (`schema/plan-text.ts`): colours of letters, and white on red. */
const paint = new RegExp(`(${String.fromCharCode(27)}\\[(?:0|3[1-6]|37;41)m)`);

const active = /(?![\n\t])[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
