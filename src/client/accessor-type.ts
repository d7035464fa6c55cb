/** The spelling of programs: `sweep_old` reads `sweepOld`. */
export type Accessor<Key> = Key extends string ? Uncapitalize<Joined<Key>> : never;
type Joined<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<Joined<Rest>>}`
  : Name;
