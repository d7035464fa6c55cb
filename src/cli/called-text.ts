/** How a database of a backup is called: by a name, or the first digits of its identity. */
export function calledText({
  names,
  identity,
}: {
  readonly names: readonly string[];
  readonly identity: string;
}): string {
  if (/^0{40}/.test(identity)) return 'registry';
  return names[0] ?? identity.slice(0, 12);
}
