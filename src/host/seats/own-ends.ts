/** Ends that an actor reports of itself; see `SeatEnd`. */
export const ownEnds = [
  'refused',
  'log',
  'full',
  'sync',
  'superseded',
  'bug',
  'died',
  'deposed',
] as const;

export type OwnEnd = (typeof ownEnds)[number];
