/**
 * The same text in memory of its own. What is cut out of a request keeps the whole request alive,
 * so this is for all that stays behind when the request has been answered.
 */
export function ownText(text: string): string {
  return decoder.decode(encoder.encode(text));
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
