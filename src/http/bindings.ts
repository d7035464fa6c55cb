import { CodegenError } from '../codegen/codegen-error.ts';
import { bindingSteps } from '../codegen/typescript.ts';
import { shownDefinition } from '../doors/shown-definition.ts';
import { ShownTexts } from '../doors/shown-texts.ts';
import type { ModuleDefinition } from '../schema/definition.ts';
import { callerOf, type HttpContext, openTarget } from './context.ts';
import { type Exchange, json, type Reply, text } from './exchange.ts';

/**
 * `GET /v1/database/:db/bindings`: what `reducerdb generate` writes for what the caller can see of
 * the module; with `include_private=true` also for private tables and functions.
 */
export async function bindings(exchange: Exchange, { host, version }: HttpContext): Promise<Reply> {
  const { database, caller } = openTarget(exchange, host);
  const includePrivate = exchange.query.boolean('include_private', false);
  const extension = exchange.query.oneOf('import_extension', ['none', 'js', 'ts']) ?? 'none';
  const { definition } = await database.handle.describe();
  const { rights } = caller;
  const form = `${includePrivate} ${extension} ${version}`;
  const found = await known.text({ definition, rights, form }, function* () {
    const shown = shownDefinition(definition, callerOf(exchange), rights);
    yield;
    return yield* filesSteps(shown, { includePrivate, extension, version });
  });
  if (found.kind === 'refused') return text(422, found.text);
  return json(200, found.text, { 'cache-control': 'no-cache' });
}

/** That no bindings can be written is kept, too: finding out takes nearly as long. */
interface BindingsText {
  readonly kind: 'files' | 'refused';
  readonly text: string;
}

/** Anyone can ask, as often as they like. */
const known = new ShownTexts<BindingsText>(({ text }) => text.length);

interface Wanted {
  readonly includePrivate: boolean;
  readonly extension: keyof typeof endings;
  readonly version: string;
}

const endings = { none: '', js: '.js', ts: '.ts' } as const;

function* filesSteps(
  definition: ModuleDefinition,
  { includePrivate, extension, version }: Wanted,
): Generator<undefined, BindingsText> {
  const style = { extension: endings[extension], library: 'reducerdb/client' };
  try {
    const { files } = yield* bindingSteps(definition, { includePrivate, style, version });
    const texts: string[] = [];
    for (const { path, text } of files) {
      texts.push(JSON.stringify({ path, text }));
      yield;
    }
    return { kind: 'files', text: `{"files":[${texts.join(',')}]}` };
  } catch (error) {
    if (!(error instanceof CodegenError)) throw error;
    return { kind: 'refused', text: error.message };
  }
}
