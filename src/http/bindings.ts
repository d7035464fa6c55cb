import { CodegenError } from '../codegen/codegen-error.ts';
import { typescriptBindings } from '../codegen/typescript.ts';
import { shownDefinition } from '../doors/shown-definition.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import { callerOf, type HttpContext, openTarget } from './context.ts';
import { type Exchange, HttpError, json, type Reply, text } from './exchange.ts';

/**
 * `GET /v1/database/:db/bindings`: what `reducerdb generate` writes for what the caller can see of
 * the module; with `include_private=true` also for private tables and functions.
 */
export async function bindings(exchange: Exchange, { host, version }: HttpContext): Promise<Reply> {
  const { database, caller } = openTarget(exchange, host);
  const includePrivate = exchange.query.boolean('include_private', false);
  const extension = exchange.query.oneOf('import_extension', ['none', 'js', 'ts']) ?? 'none';
  const { definition } = await database.handle.describe();
  const by = callerOf(exchange);
  // There are a few kinds of whole identities; limited tokens share a place.
  const place = by.capability === undefined ? `whole ${caller.rights.key}` : 'limited';
  const texts = known.get(definition) ?? new Map<string, BindingsText>();
  known.set(definition, texts);
  const options = `${includePrivate} ${extension}`;
  const shownTo = `${caller.rights.key} ${options}`;
  let found = texts.get(`${place} ${options}`);
  if (found?.shownTo !== shownTo) {
    const shown = shownDefinition(definition, by, caller.rights);
    found = { shownTo, json: filesJson(shown, { includePrivate, extension, version }) };
    texts.set(`${place} ${options}`, found);
  }
  return json(200, found.json, { 'cache-control': 'no-cache' });
}

interface BindingsText {
  readonly shownTo: string;
  readonly json: string;
}

/** Anyone can ask, as often as they like. */
const known = new WeakMap<ModuleDefinition, Map<string, BindingsText>>();

interface Wanted {
  readonly includePrivate: boolean;
  readonly extension: keyof typeof endings;
  readonly version: string;
}

const endings = { none: '', js: '.js', ts: '.ts' } as const;

function filesJson(
  definition: ModuleDefinition,
  { includePrivate, extension, version }: Wanted,
): string {
  const style = { extension: endings[extension], library: 'reducerdb/client' };
  try {
    const { files } = typescriptBindings(definition, { includePrivate, style, version });
    return JSON.stringify({ files: files.map(({ path, text }) => ({ path, text })) });
  } catch (error) {
    if (!(error instanceof CodegenError)) throw error;
    throw new HttpError(text(422, error.message));
  }
}
