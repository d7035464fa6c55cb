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

/** `1 database`, `2 databases`. */
export function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
