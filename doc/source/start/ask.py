from senlin_affinity import api

question = api.Question(6, 'm1.small', server_group='web')
view = api.load('etc/senlin-affinity/snapshots/two-hosts.json')
decision = api.answer(question, view)
print(decision.fits, decision.capacity, decision.capacity_certain)
print(decision.line())
for remedy in decision.remedies:
    print(remedy.change, remedy.capacity)
