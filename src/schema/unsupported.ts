import type { ModuleDefinition } from './definition.ts';
import { flatDefinition } from './flat-definition.ts';

/**
 * Returns the first feature that a module or one of its submodules declares and that is not
 * supported yet, as a text for the publisher; `undefined` if the whole module is supported. The
 * definition includes such features already, so that tools can show them. `hasLanes`: procedures
 * and HTTP handlers can run where the program is to serve.
 */
export function unsupportedFeature(
  definition: ModuleDefinition,
  hasLanes = true,
): string | undefined {
  const { procedures, httpHandlers } = flatDefinition(definition);
  const [procedure] = hasLanes ? [] : procedures;
  const [handler] = hasLanes ? [] : httpHandlers;
  if (procedure !== undefined) {
    return inProcess(refuse(`procedure \`${procedure.name}\``, 'procedures'));
  }
  if (handler !== undefined) {
    return inProcess(refuse(`HTTP handler \`${handler.name}\``, 'HTTP handlers'));
  }
  return undefined;
}

function refuse(thing: string, kind: string): string {
  return `module declares the ${thing}: ${kind} are not supported yet`;
}

function inProcess(refusal: string): string {
  return `${refusal} in a process (isolation)`;
}
