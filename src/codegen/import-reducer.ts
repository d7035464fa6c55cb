import type { PlannedFunction } from './binding-plan.ts';
import type { SourceFile } from './source-file.ts';

/**
 * Makes `file` import the declarations in a reducer's file, below `folder`, under a name that
 * begins with `prefix`. Returns the names of its parameters and, where declared, of the types of
 * its value and its error.
 */
export function importReducer(
  file: SourceFile,
  { stem, file: source, returnType, errorType }: PlannedFunction,
  folder: string,
  prefix = '',
) {
  const name = `${prefix}${stem}Reducer`;
  const isPlain = returnType === undefined && errorType === undefined;
  file.local(name, `${folder}${source}`, isPlain ? 'default' : 'namespace');
  return {
    params: isPlain ? name : `${name}.default`,
    returnType: returnType && `${name}.returnType`,
    errorType: errorType && `${name}.errorType`,
  };
}
