import type { ModuleDefinition } from './definition.ts';
import { flatDefinition } from './flat-definition.ts';

/**
 * Returns the first feature that a module or one of its submodules declares and that is not
 * supported yet, as a text for the publisher; `undefined` if the whole module is supported. The
 * definition includes such features already, so that tools can show them.
 */
export function unsupportedFeature(definition: ModuleDefinition): string | undefined {
  const { views, procedures, httpHandlers, httpRoutes } = flatDefinition(definition);
  const view = views.find(({ params }) => params.elements.length > 0);
  const [procedure] = procedures;
  const [handler] = httpHandlers;
  const [route] = httpRoutes;
  if (view !== undefined) return refuse(`view \`${view.name}\``, 'views with parameters');
  if (procedure !== undefined) return refuse(`procedure \`${procedure.name}\``, 'procedures');
  if (handler !== undefined) return refuse(`HTTP handler \`${handler.name}\``, 'HTTP handlers');
  if (route !== undefined) return refuse(`HTTP route \`${route.path}\``, 'HTTP routes');
  return undefined;
}

function refuse(thing: string, kind: string): string {
  return `module declares the ${thing}: ${kind} are not supported yet`;
}
