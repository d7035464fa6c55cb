import type { ObjectEntry } from './manifest.ts';
import type { ObjectStore } from './object-store.ts';

/** An object that a manifest names and that is not there, or has another size. */
export interface AbsentObject {
  readonly entry: ObjectEntry;
  /** What is there; `undefined`: nothing. */
  readonly bytes: number | undefined;
}

/** Looks for objects by listing their folders: which of them are missing, or have another size. */
export async function absentObjects(
  store: ObjectStore,
  entries: readonly ObjectEntry[],
): Promise<AbsentObject[]> {
  const byFolder = new Map<string, ObjectEntry[]>();
  for (const entry of entries) {
    const folder = entry.name.slice(0, entry.name.lastIndexOf('/') + 1);
    const others = byFolder.get(folder);
    if (others === undefined) byFolder.set(folder, [entry]);
    else others.push(entry);
  }
  const absent: AbsentObject[] = [];
  for (const [folder, wanted] of byFolder) {
    const sizes = new Map<string, number>();
    for await (const { name, bytes } of store.list(folder)) sizes.set(name, bytes);
    for (const entry of wanted) {
      const bytes = sizes.get(entry.name);
      if (bytes !== entry.storedBytes) absent.push({ entry, bytes });
    }
  }
  return absent;
}

/** What an absence is called in messages. */
export function absenceText({ entry, bytes }: AbsentObject): string {
  if (bytes === undefined) return `object ${entry.name} is missing`;
  return `object ${entry.name} is damaged: it has ${bytes} bytes, expected ${entry.storedBytes}`;
}
