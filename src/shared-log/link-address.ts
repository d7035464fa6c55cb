/**
 * True for `10.0.0.4:3001`, `[::1]:3001` and `db-1.example:3001`: where hosts reach each other.
 * What a log or another process says is checked with this before anything is sent there, or shown.
 */
export function isLinkAddress(text: string): boolean {
  const port = /^(?:\[[\da-fA-F:.]+\]|[\w.-]+):(\d{1,5})$/.exec(text)?.[1];
  return port !== undefined && Number(port) > 0 && Number(port) <= 65_535;
}
