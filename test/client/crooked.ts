import { schemaJson } from '../../src/schema/schema-json.ts';
import { validateModule } from '../../src/schema/validate.ts';
import { describeModule, type SchemaParts } from '../../src/server/describe.ts';
import { CaseConversionPolicy, schema, t, table } from '../../src/server/index.ts';

// A module whose names are spelled in other ways than those of its clients.

const Mood = t.enum('Mood', ['calm', 'veryAngry', 'HTTPError']);
const Place = t.object('Place', { map_no: t.u8(), postCode2: t.string(), tag: t.string() });
const Visit = t.enum('Visit', { never: t.unit(), last_seen_in: Place });
const Refusal = t.enum('Refusal', {
  not_here: t.unit(),
  tooFar: t.object('Far', { in_km: t.u32() }),
});

const guest = table(
  {
    public: true,
    indexes: [{ accessor: 'by_room', algorithm: 'btree', columns: ['room_no', 'userID'] }],
  },
  {
    userID: t.u32().primaryKey(),
    room_no: t.u32().index(),
    nick: t.string(),
    mood: Mood,
    visits: t.array(Visit),
    place: t.option(Place),
  },
);

const db = schema({ guest });
export default db;

export const move = db.reducer(
  { returns: Place, throws: Refusal },
  { userID: t.u32(), new_mood: Mood, places: t.array(Place) },
  () => ({ map_no: 1, postCode2: 'x', tag: 'y' }),
);

/** The same with the names of the module everywhere. */
export const verbatim = schema({ guest }, { CASE_CONVERSION_POLICY: CaseConversionPolicy.None });

/** What the schema endpoint answers for either. */
export function crookedSchema(of: object, functions: object = {}) {
  const { raw } = describeModule(of as SchemaParts, { default: of, ...functions }, () => undefined);
  return JSON.parse(schemaJson(validateModule(raw), 10));
}
