import type { Content } from '../../src/mcp-protocol/tool.ts';

/** One red pixel. */
export const pngBase64 =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';

/** The header of a sound file, and no sound. */
const wavBase64 = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';

export const image: Content = { type: 'image', data: pngBase64, mimeType: 'image/png' };

export const audio: Content = { type: 'audio', data: wavBase64, mimeType: 'audio/wav' };

/** A text that stands for a resource of this URI. */
export function embedded(uri: string, text: string, mimeType = 'text/plain'): Content {
  return { type: 'resource', resource: { uri, mimeType, text } };
}
