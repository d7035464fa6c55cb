import { ProgramError } from './runner.ts';

/**
 * Checks what a program imports from its host. Our own programs import nothing: the host passes its
 * functions when it asks for the hooks. Throws `ProgramError` with the texts of the boundary.
 */
export function checkImports(specifiers: readonly string[]): void {
  const [first] = specifiers;
  if (first !== undefined) throw new ProgramError(refusalOf(first));
}

function refusalOf(specifier: string): string {
  const match = /^(spacetime|reducerdb):sys@(.*)$/.exec(specifier);
  if (match === null) return `Could not find module "${specifier}"`;
  const [, toolchain, versionText = ''] = match;
  const version = /^(\d+)\.(\d+)$/.exec(versionText);
  if (version === null) return `Invalid version in module spec "${specifier}"`;
  if (toolchain === 'spacetime' && isKnown(Number(version[1]), Number(version[2]))) {
    return (
      `Importing "${specifier}" is not supported yet: ` +
      'this host runs modules written with "reducerdb/server"'
    );
  }
  return (
    `Could not import "${specifier}", likely because this module was built for a newer version ` +
    `of SpacetimeDB.\nIt requires sys module v${versionText}, but that version is not supported ` +
    'by the database.'
  );
}

/** Versions of the other toolchain that will be supported. */
function isKnown(major: number, minor: number): boolean {
  return (major === 1 && minor <= 3) || (major === 2 && minor <= 1);
}
