/**
 * Groups of abilities that the MCP server offers to those who ask: in the address (`?features=`),
 * by the bridge's flag `--features`, or in a limited token. Without any it has its five tools.
 */
export const agentFeatures = [
  'preview',
  'explain',
  'logs',
  'typed-reducers',
  'read-only',
  'whoami',
  'fence',
] as const;

export type AgentFeature = (typeof agentFeatures)[number];

export function isAgentFeature(word: string): word is AgentFeature {
  return (agentFeatures as readonly string[]).includes(word);
}
