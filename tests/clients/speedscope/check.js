// Is a file what speedscope says its files are, and what does it hold? The schema is the one that
// speedscope's package ships; stacks and weights are taken as its importer takes them. Prints
// {"unit": ..., "stacks": {"root;leaf": weight}}.
'use strict';
const fs = require('fs');
const path = require('path');
const Ajv = require('ajv');

const folder = path.join(path.dirname(require.resolve('speedscope/package.json')), 'dist', 'release');
const schema = JSON.parse(fs.readFileSync(path.join(folder, 'file-format-schema.json'), 'utf8'));
delete schema.$schema; // draft 7 by another spelling
const file = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const validate = new Ajv({ strict: false, allErrors: true }).compile(schema);
if (!validate(file)) {
  console.error(JSON.stringify(validate.errors.slice(0, 5)));
  process.exit(1);
}
const stacks = {};
let unit = null;
for (const profile of file.profiles) {
  if (profile.type !== 'sampled') throw new Error('not sampled: ' + profile.type);
  if (profile.samples.length !== profile.weights.length) throw new Error('samples and weights differ in number');
  unit = profile.unit;
  let sum = 0;
  profile.samples.forEach((stack, i) => {
    const key = stack.map((at) => file.shared.frames[at].name).join(';');
    stacks[key] = (stacks[key] || 0) + profile.weights[i];
    sum += profile.weights[i];
  });
  if (profile.endValue - profile.startValue !== sum) throw new Error('the end is not the sum of the weights');
}
console.log(JSON.stringify({ unit, stacks }));
