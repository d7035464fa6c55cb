import { namesHint } from '../doors/names-hint.ts';
import type { HttpContext } from './context.ts';
import { HttpError, hintedText, json, type Reply, text } from './exchange.ts';
import type { Route } from './route.ts';

export function templateRoutes(context: HttpContext): Route[] {
  return [
    {
      path: '/v1/templates',
      methods: { GET: { token: 'optional', run: () => listTemplates(context) } },
    },
  ];
}

/** `GET /v1/templates`: what a new database can begin as. */
async function listTemplates({ templates }: HttpContext): Promise<Reply> {
  const all = await templates.list();
  const body = all.map(({ name, description }) => ({ name, description }));
  return json(200, JSON.stringify(body), { 'cache-control': 'no-cache' });
}

/** Returns the program of a template, or throws the response that names those that there are. */
export async function templateProgram(
  { templates }: HttpContext,
  name: string,
): Promise<Uint8Array> {
  const program = await templates.program(name);
  if (program !== undefined) return program;
  const names = (await templates.list()).map((template) => template.name);
  if (names.length === 0) throw new HttpError(text(404, 'This package holds no templates'));
  const hint = namesHint(name, names);
  throw new HttpError(hintedText(404, 'There is no such template', hint));
}
