import {
  arrows,
  engineRooms,
  folderArrows,
  foundations,
  guestRooms,
  peerPackages,
  publishedRooms,
  startedFiles,
  surfaces,
  writtenFiles,
} from './arrows.ts';
import {
  folderOf,
  importsOf,
  isTest,
  pathInRoom,
  resolveImport,
  roomOf,
  type SourceFile,
} from './source-file.ts';

/** One broken rule: where, and what to do about it. */
export type Complaint = string;

export const linesMax = 600;
export const columnsMax = 100;

/** All rules that look at one file alone. */
export function checkFile(file: SourceFile): Complaint[] {
  return [
    ...checkArrows(file),
    ...checkFolderArrows(file),
    ...checkSurfaces(file),
    ...checkPackages(file),
    ...checkLength(file),
    ...checkMarks(file),
    ...checkIndexFile(file),
  ];
}

/** A room imports only what its row of the arrow table lists. */
export function checkArrows({ path, text }: SourceFile): Complaint[] {
  const room = roomOf(path);
  if (room === undefined || isTest(path)) return [];
  const allowed = arrows[room];
  if (allowed === undefined) return [`${path}: room "${room}" is not in the arrow table`];
  return filesImportedBy({ path, text })
    .map(roomOf)
    .filter((target) => target !== undefined && target !== room && !allowed.includes(target))
    .map((target) => `${path}: ${room} may not import ${target}`);
}

/** A folder of a large room imports only what its row of the room's table lists. */
export function checkFolderArrows({ path, text }: SourceFile): Complaint[] {
  const room = roomOf(path);
  const table = folderArrows[room ?? ''];
  if (table === undefined || isTest(path)) return [];
  const own = rowOf(path, table);
  if (own === undefined) return [];
  const allowed = table[own];
  if (allowed === undefined) return [`${path}: folder "${own}" is not in the table of its room`];
  return filesImportedBy({ path, text })
    .filter((file) => roomOf(file) === room)
    .map((file) => rowOf(file, table))
    .filter((target) => target !== own && !allowed.includes(target ?? ''))
    .map((target) => `${path}: ${own} may not import ${target ?? 'what lies beside it'}`);
}

/** The row of a file: its folder, or itself if it lies beside the folders and has a row. */
function rowOf(file: string, table: Readonly<Record<string, unknown>>): string | undefined {
  const name = pathInRoom(file);
  return folderOf(file) ?? (name in table ? name : undefined);
}

/** Other rooms import only the surface of a room that states one. */
export function checkSurfaces({ path, text }: SourceFile): Complaint[] {
  if (isTest(path)) return [];
  return filesImportedBy({ path, text })
    .filter((file) => roomOf(file) !== roomOf(path))
    .filter((file) => surfaces[roomOf(file) ?? '']?.includes(pathInRoom(file)) === false)
    .map((file) => `${path}: ${file} is not on the surface of its room`);
}

/** Files on the surface of a room that no other room imports. */
export function unusedSurfaces(files: readonly SourceFile[]): string[] {
  const used = new Set(
    files
      .filter(({ path }) => !isTest(path))
      .flatMap((file) => {
        return filesImportedBy(file).filter((target) => roomOf(target) !== roomOf(file.path));
      }),
  );
  return Object.entries(surfaces)
    .flatMap(([room, names]) => names.map((name) => `src/${room}/${name}`))
    .filter((file) => !used.has(file));
}

function filesImportedBy({ path, text }: SourceFile): string[] {
  return importsOf(text)
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => resolveImport(path, specifier));
}

/** Engine and guest rooms import neither Node nor a package, others of the SDK only their peers. */
export function checkPackages({ path, text }: SourceFile): Complaint[] {
  const room = roomOf(path);
  if (isTest(path)) return [];
  const peers = peerPackages[room ?? ''];
  const isPure = room === undefined || engineRooms.includes(room) || guestRooms.includes(room);
  if (!isPure && peers === undefined) return [];
  return importsOf(text)
    .filter((specifier) => !specifier.startsWith('.') && peers?.includes(specifier) !== true)
    .map((specifier) => `${path}: ${room ?? 'a root file'} may not import "${specifier}"`);
}

/** Files stay short enough to hold in the head, lines short enough to read side by side. */
export function checkLength({ path, text }: SourceFile): Complaint[] {
  if (writtenFiles.includes(path)) return [];
  const lines = text.split('\n');
  const complaints: Complaint[] = [];
  if (lines.length - 1 > linesMax) {
    complaints.push(`${path}: ${lines.length - 1} lines, at most ${linesMax}`);
  }
  lines.forEach((line, index) => {
    if ([...line].length > columnsMax) {
      complaints.push(`${path}:${index + 1}: over ${columnsMax} columns`);
    }
  });
  return complaints;
}

/** No marks of unfinished work, no default export, no silenced compiler. */
export function checkMarks({ path, text }: SourceFile): Complaint[] {
  const marks: [RegExp, string][] = [
    [/\b(TODO|FIXME|XXX)\b(?!\(#\d+\))/, 'a mark of unfinished work without an issue'],
    [/@ts-(ignore|nocheck)/, 'a silenced compiler'],
    [/^export default\b/m, 'a default export'],
  ];
  if (isTest(path)) return [];
  return marks.filter(([mark]) => mark.test(text)).map(([, words]) => `${path}: ${words}`);
}

/** `index.ts` exists only where the package publishes an entry. */
export function checkIndexFile({ path }: SourceFile): Complaint[] {
  if (!path.endsWith('/index.ts')) return [];
  const room = roomOf(path);
  const isEntry = path === `src/${room}/index.ts` && publishedRooms.includes(room ?? '');
  return isEntry ? [] : [`${path}: index.ts outside a published entry`];
}

/**
 * Every file is an entry, a started file, a test, or imported by one that is not a test. What the room
 * `testing` holds is for tests, so an import from one of `tests` counts there.
 */
export function checkOrphans(
  files: readonly SourceFile[],
  tests: readonly SourceFile[] = [],
): Complaint[] {
  const imported = importedBy(files.filter(({ path }) => !isTest(path)));
  const tested = importedBy([...files, ...tests]);
  return files
    .map((file) => file.path)
    .filter((path) => !isTest(path) && !path.endsWith('/index.ts'))
    .filter((path) => ![...startedFiles, ...foundations].includes(path) && !imported.has(path))
    .filter((path) => roomOf(path) !== 'testing' || !tested.has(path))
    .map((path) => `${path}: nothing imports it`);
}

function importedBy(files: readonly SourceFile[]): Set<string> {
  return new Set(files.flatMap(filesImportedBy));
}
