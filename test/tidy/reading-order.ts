import { isTest, pathInRoom, roomOf, type SourceFile } from './source-file.ts';

/**
 * Files of rooms that the README of their room does not name. A README names a file in backticks by
 * its name or its path in the room (`scope.ts`, `check/scope.ts`), or several by a pattern with `*`
 * (`commands/*.ts`, `type-*.ts`).
 */
export function unlistedFiles(
  files: readonly SourceFile[],
  readmes: ReadonlyMap<string, string>,
): string[] {
  const patterns = new Map([...readmes].map(([room, text]) => [room, patternsIn(text)]));
  return files
    .map(({ path }) => path)
    .filter((path) => !isTest(path))
    .filter((path) => {
      const room = roomOf(path);
      const name = pathInRoom(path);
      return room !== undefined && !patterns.get(room)?.some((pattern) => pattern.test(name));
    });
}

/** Each matches paths inside the room. */
function patternsIn(readme: string): RegExp[] {
  const names = readme.matchAll(/`([\w./*-]+\.(?:tsx?|js))`/g);
  return [...names].map(([, name = '']) => {
    const source = name.replaceAll('.', '\\.').replaceAll('*', '[\\w.-]*');
    return new RegExp(`^(?:.*/)?${source}$`);
  });
}
