import { importsOf, resolveImport, type SourceFile } from './source-file.ts';

/**
 * The room outside `src`: which folder of `console/src` may import which, in dependency order.
 * `console/README.md` shows the same table to people. `pages` stands for the list of the pages; a
 * page imports its own folder, and no other page.
 */
export const consoleArrows: Readonly<Record<string, readonly string[]>> = {
  service: [],
  parts: ['service'],
  shell: ['service', 'parts'],
  pages: ['service', 'parts', 'shell'],
};

/** What the console uses of the product: what anybody can. */
const publicEntries = /^reducerdb\/(client|react|types\/[\w/-]+)$/;

/** Imports of a file of the console that it may not have. */
export function checkConsoleImports(
  { path, text }: SourceFile,
  packages: readonly string[],
): string[] {
  return importsOf(text).flatMap((specifier) => {
    const complaint = specifier.startsWith('.')
      ? wrongFile(path, specifier)
      : wrongPackage(specifier, packages);
    return complaint === undefined ? [] : [`${path}: ${complaint}`];
  });
}

function wrongFile(path: string, specifier: string): string | undefined {
  const target = resolveImport(path, specifier);
  if (!target.startsWith('console/src/')) return `may not import ${target}, outside the console`;
  const [own, other] = [folderOf(path), folderOf(target)];
  if (own === undefined) return undefined;
  const [ownPage, otherPage] = [pageOf(path), pageOf(target)];
  if (own === 'pages' && other === 'pages') {
    const isOwn = ownPage === undefined || ownPage === otherPage;
    return isOwn ? undefined : `the page ${ownPage} may not import ${otherPage ?? 'the list'}`;
  }
  const allowed = consoleArrows[own];
  if (allowed === undefined) return `folder "${own}" is not in the arrow table`;
  if (other === own || (other !== undefined && allowed.includes(other))) return undefined;
  return `${own} may not import ${other ?? 'what lies beside it'}`;
}

function wrongPackage(specifier: string, packages: readonly string[]): string | undefined {
  if (publicEntries.test(specifier)) return undefined;
  const name = packages.find((each) => specifier === each || specifier.startsWith(`${each}/`));
  return name === undefined ? `may not import "${specifier}"` : undefined;
}

function folderOf(path: string): string | undefined {
  const parts = path.split('/');
  return parts.length > 3 ? parts[2] : undefined;
}

function pageOf(path: string): string | undefined {
  const parts = path.split('/');
  return parts[2] === 'pages' && parts.length > 4 ? parts[3] : undefined;
}
