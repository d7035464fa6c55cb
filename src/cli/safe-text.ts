/**
 * Text from elsewhere as a terminal can show it: control characters but line feeds and tabs are
 * written as in JSON (`\u001b`), so that they do nothing there. JSON still means the same.
 */
export function safeText(text: string): string {
  return text.replace(/\r\n/g, '\n').replace(/(?![\n\t])\p{Cc}/gu, (control) => {
    return `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
