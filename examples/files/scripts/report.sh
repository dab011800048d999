# Expressions are resolved when the step starts.
echo "Report of <+pipeline.name>"
cat <<END
<+fileStore.getAsString("/scripts/report.txt")>
END
