import type { PlannedFunction } from './binding-plan.ts';
import type { SourceFile } from './source-file.ts';

/**
 * Makes `file` import what the file of a reducer says, which `folder` leads to. The answer is how
 * to name its parameters and, where it declares them, the types of its value and of its error.
 */
export function importReducer(
  file: SourceFile,
  { stem, file: source, returnType, errorType }: PlannedFunction,
  folder: './' | '../',
) {
  const name = `${stem}Reducer`;
  const isPlain = returnType === undefined && errorType === undefined;
  file.local(name, `${folder}${source}`, isPlain ? 'default' : 'namespace');
  return {
    params: isPlain ? name : `${name}.default`,
    returnType: returnType && `${name}.returnType`,
    errorType: errorType && `${name}.errorType`,
  };
}
