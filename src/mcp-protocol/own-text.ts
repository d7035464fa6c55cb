/**
 * Copies a text into its own memory. A substring of a request keeps the whole request alive, so
 * everything that outlives the response must be copied.
 */
export function ownText(text: string): string {
  return decoder.decode(encoder.encode(text));
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
