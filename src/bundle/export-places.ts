import type { Location } from 'esbuild';
import { renderMessages } from './build-error.ts';
import { BundleExports } from './bundle-exports.ts';
import { splitMap } from './inline-map.ts';
import { SourcePlaces } from './source-places.ts';

/** A text about one export of a program. */
export interface ExportFault {
  readonly name: string;
  readonly text: string;
}

/**
 * The faults as messages for the author: each with file, line and column of its export, and the
 * line. `program` is what the bundler made of the sources, with its source map inside.
 */
export function renderExportFaults(program: string, faults: readonly ExportFault[]): string {
  const { map } = splitMap(program);
  const places = map === undefined ? undefined : new SourcePlaces(program, map);
  const exported = places && new BundleExports(program, places);
  const functions = new Map(exported?.functions);
  const messages = faults.map(({ name, text }) => {
    const named = functions.get(name);
    const place = named && places?.positionOf(named.nameOffset);
    const location: Location | null = place
      ? { ...place, length: name.length, namespace: '', suggestion: '' }
      : null;
    return { id: '', pluginName: '', text, location, notes: [], detail: undefined };
  });
  return renderMessages(messages);
}
