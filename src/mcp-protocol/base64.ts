/** Base64 of bytes; what is read must be in the one form that is written. */

export function toBase64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
}

/** `undefined`: it is no base64. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) {
    return undefined;
  }
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return toBase64(bytes) === text ? bytes : undefined;
}
