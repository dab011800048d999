// An app of the CDK writes templates, and a manifest that says where they go. Most apps have the CDK's library do that;
// this one needs no library.
const fs = require('fs')
const path = require('path')

const stacks = JSON.parse(fs.readFileSync('stacks.json'))
const out = process.env.CDK_OUTDIR || 'cdk.out'
fs.mkdirSync(out, {recursive: true})
const artifacts = {}
for (const [name, template] of Object.entries(stacks)) {
  const templateFile = name + '.template.json'
  fs.writeFileSync(path.join(out, templateFile), JSON.stringify(template))
  artifacts[name] = {type: 'aws:cloudformation:stack', environment: 'aws://unknown-account/unknown-region', properties: {templateFile}}
}
fs.writeFileSync(path.join(out, 'manifest.json'), JSON.stringify({version: '36.0.0', artifacts}))
