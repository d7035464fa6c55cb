import { definitionFromSchema } from '../../codegen/schema-document.ts';
import { typescriptBindings } from '../../codegen/typescript.ts';
import { productVersion } from '../../service/version.ts';
import { updateBindings } from '../bindings-folder.ts';
import { importExtensionFor } from '../import-extension.ts';
import type { Io } from '../io.ts';

/** One folder of bindings, as the project names it. */
export interface BindingsPlace {
  readonly folder: string;
  readonly includePrivate: boolean;
}

/**
 * Brings bindings up to date with the schema of the running database. Files of earlier runs that
 * are not needed any more are deleted: they are generated.
 */
export async function writeBindings(
  schema: string,
  places: readonly BindingsPlace[],
  io: Io,
): Promise<void> {
  if (places.length === 0) return;
  const definition = definitionFromSchema(schema);
  const quiet = { ...io, out: () => undefined, err: () => undefined };
  for (const { folder, includePrivate } of places) {
    const style = { extension: importExtensionFor(folder), library: 'reducerdb/client' } as const;
    const options = { includePrivate, style, version: productVersion };
    const { files } = typescriptBindings(definition, options);
    await updateBindings(folder, files, { io: quiet, isYes: true });
  }
}
